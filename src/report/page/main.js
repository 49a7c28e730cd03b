// Builds the page from its data.

function showPage(data) {
  const series = seriesOf(data);
  showWarnings(data);
  showRuns(data);
  showFigures(data);
  showComparison(data);
  showLengths(data, series);
  showRoofline(data, series);
  showCases(data);
  showErrors(data);
  showMasks(data);
  showCommands(data);
  showContext(data);
  drawCharts();
  addEventListener("resize", drawCharts);
}

showPage(JSON.parse(byId("data").textContent));
document.documentElement.dataset.width = document.documentElement.scrollWidth;
document.documentElement.dataset.ready = "yes";

"""argparse types that the comparisons share."""
import argparse


def list_of(convert, allowed=None):
    """An argparse type: values between commas."""
    def parse(text):
        values = [convert(part) for part in text.split(",")]
        for value in values:
            if allowed and value not in allowed:
                raise argparse.ArgumentTypeError(f"'{value}' is not one of {', '.join(allowed)}")
        return values
    return parse


def at_least(least, convert=int):
    """An argparse type: a number."""
    def parse(text):
        try:
            value = convert(text)
        except ValueError:
            value = None
        if value is None or not value >= least:
            raise argparse.ArgumentTypeError(f"'{text}' is not a number of at least {least}")
        return value
    return parse


def lengths(text):
    """(seqlen_q, seqlen_k) of "512" or "300x700"."""
    parts = [at_least(1)(part) for part in text.split("x")]
    if len(parts) > 2:
        raise argparse.ArgumentTypeError(f"'{text}' is not N or NxM")
    return parts[0], parts[-1]

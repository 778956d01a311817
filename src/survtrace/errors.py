"""What can go wrong, and whose fault it is."""


class SurvtraceError(Exception):
    """Root of every error this package raises on purpose."""


class DataError(SurvtraceError, ValueError):
    """A table breaks a rule: the message names the rule, what was seen, and the way out."""


class SettingError(SurvtraceError, ValueError):
    """A setting of the estimator has a value it cannot take."""


class TrainingError(SurvtraceError, RuntimeError):
    """Training could not go on; the best parameters found so far are kept."""


class SavedFileError(SurvtraceError, ValueError):
    """A saved estimator is damaged, foreign, or written by a newer version."""


class DataWarning(UserWarning):
    """Something in a table deserves a look, but the answer is still well defined."""

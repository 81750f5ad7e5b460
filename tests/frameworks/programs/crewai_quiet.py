"""What keeps CrewAI from telling others of its runs, and where it keeps things."""

import os
import tempfile

HOME = os.path.join(tempfile.gettempdir(), "anchored-crewai")
QUIET = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_TRACKING": "true",
    "OTEL_SDK_DISABLED": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "CREWAI_TESTING": "true",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "CREWAI_DISABLE_VERSION_CHECK": "true",
}
PLACES = {"CREWAI_STORAGE_DIR": HOME, "HOME": HOME, "NO_COLOR": "1"}

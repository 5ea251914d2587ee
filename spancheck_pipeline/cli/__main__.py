"""``python -m spancheck_pipeline.cli``: the same as the ``spancheck`` command."""

from spancheck_pipeline.cli.main import main

if __name__ == "__main__":
    main()

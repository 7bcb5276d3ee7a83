#!/bin/sh
# cc.sh: make a C compiler available, for the race detector and for the libraries that set the clock of a server or a JVM.
#
# Takes the cc on PATH, if it compiles. Installs Debian's packages where that is possible (Debian or Ubuntu, as root);
# elsewhere it says what to install and fails. Safe to call again.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() { echo "cc.sh: $*" >&2; }

# ready: it compiles something that needs the headers of the C library, too.
ready() {
	command -v cc >/dev/null &&
		printf '#include <stdlib.h>\nint main(void) { return EXIT_SUCCESS; }\n' | cc -x c -o "$work/out" - 2>/dev/null
}

if ready; then
	exit 0
fi
say "needs a C compiler, cc, with the headers of the C library"
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	exit 1
fi
apt-get update -qq >&2
say "installing gcc libc6-dev"
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gcc libc6-dev >&2
if ! ready; then
	say "cc still does not compile"
	exit 1
fi

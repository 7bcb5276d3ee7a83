#!/bin/sh
# java.sh: make a JDK 17 or later and Maven available for the interoperability tests.
#
# Takes the JDK of JAVA_HOME, or else the one on PATH. Installs Debian's packages where that is possible (Debian or
# Ubuntu, as root); elsewhere it says what to install and fails. Safe to call again.
set -eu

oldest=17

say() { echo "java.sh: $*" >&2; }

# release: the version of the compiler, such as 17; nothing without one. That of Java 8 calls itself 1.8.
release() {
	"${JAVA_HOME:+$JAVA_HOME/bin/}javac" -version 2>&1 | sed -n 's/^javac \([0-9]*\).*/\1/p'
}

jdk() {
	found=$(release) && [ -n "$found" ] && [ "$found" -ge "$oldest" ]
}

ready() { jdk && command -v mvn >/dev/null; }

# missing: what there is too little of, in one line.
missing() {
	if [ -n "${JAVA_HOME:-}" ] && ! jdk; then
		say "needs a JDK $oldest or later; that of JAVA_HOME, $JAVA_HOME, is of version ${found:-unknown}"
	elif ! jdk; then
		say "needs a JDK $oldest or later and Maven on PATH; javac there is of version ${found:-none}"
	else
		say "needs Maven on PATH"
	fi
}

offered() { [ -n "$(apt-cache madison "$1" 2>/dev/null)" ]; }

# wanted: the package of the JDK. A later Debian offers only later ones.
wanted() {
	if offered openjdk-$oldest-jdk-headless; then
		echo openjdk-$oldest-jdk-headless
	else
		echo default-jdk-headless
	fi
}

if ready; then
	exit 0
fi
missing
# Another JDK beside it would not be taken.
if [ -n "${JAVA_HOME:-}" ] && ! jdk || [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	exit 1
fi
apt-get update -qq >&2
packages="$(jdk || wanted) $(command -v mvn >/dev/null || echo maven)"
say "installing" $packages
# shellcheck disable=SC2086 # one word for each package
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >&2
if ! ready; then
	missing
	exit 1
fi

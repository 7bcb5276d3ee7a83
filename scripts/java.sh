#!/bin/sh
# java.sh: make a JDK 17 and Maven available for the interoperability tests.
#
# Installs Debian's packages where that is possible (Debian or Ubuntu, as root); elsewhere it says what to install and
# fails. Safe to call again.
set -eu

say() { echo "java.sh: $*" >&2; }

# jdk: a compiler of Java 17 or later is on PATH.
jdk() {
	found=$(javac -version 2>&1 | sed -n 's/^javac \([0-9]*\).*/\1/p') && [ -n "$found" ] && [ "$found" -ge 17 ]
}

if jdk && command -v mvn >/dev/null; then
	exit 0
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	say "needs a JDK 17 or later and Maven on PATH: install them"
	exit 1
fi
say "installing openjdk-17-jdk-headless and maven"
apt-get update -qq >&2
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends openjdk-17-jdk-headless maven >&2
jdk && command -v mvn >/dev/null

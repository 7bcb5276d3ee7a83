#!/bin/sh
# servers.sh [DIR]: make the servers of the test matrix available below DIR (default: .servers of
# the repository).
#
#   DIR/bin/redis-server-7    Redis 7.0
#   DIR/bin/redis-server-8    Redis 8.0
#   DIR/bin/valkey-server-8   Valkey 8.1
#   DIR/lib/rejson.so         the module RedisJSON 2.8, for all three
#
# A fitting server on PATH is linked. On Debian the others are unpacked below DIR from the mirror
# that the machine already uses, with the C library of their own release, so nothing is installed
# and no service is started; no root is needed. On other systems it says what to install and goes
# on with what is there. The module comes from the index of pip's configuration, as one file of a wheel; it is for Linux on
# x86_64. Safe to call again: what is there and runs is kept.
set -eu

repo=$(cd "$(dirname "$0")/.." && pwd)
dir=${1:-$repo/.servers}
mkdir -p "$dir/bin"
dir=$(cd "$dir" && pwd)
work=
trap 'test -z "$work" || rm -rf "$work"' EXIT

say() { echo "servers.sh: $*" >&2; }

# major BINARY: the first number of the version it reports; nothing if it does not run.
major() { "$1" --version 2>/dev/null | sed -n 's/.*[ =]v=\([0-9]*\)\..*/\1/p'; }

# have NAME MAJOR: DIR/bin/NAME is there, runs, and is of that major version or a later one.
have() {
	found=$(major "$dir/bin/$1") && [ -n "$found" ] && [ "$found" -ge "$2" ]
}

# from_path NAME BINARY MAJOR: link the server on PATH, if its major version is exactly MAJOR.
from_path() {
	path=$(command -v "$2") && [ "$(major "$path")" = "$3" ] && ln -sf "$path" "$dir/bin/$1"
}

# mirror CODENAME: the address from which this machine gets that Debian release.
mirror() {
	for f in /etc/apt/sources.list.d/*.sources; do
		[ -r "$f" ] && awk -v RS= -v code="$1" '
			$0 ~ "(^|\n)Suites:[^\n]*[ \t]" code "([ \t\n]|$)" {
				if (match($0, /(^|\n)URIs:[ \t]*[^ \t\n]+/)) {
					uri = substr($0, RSTART, RLENGTH); sub(/.*URIs:[ \t]*/, "", uri); print uri
				}
			}' "$f"
	done
	for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
		[ -r "$f" ] && sed -n "s/^deb  *\(\[[^]]*\]  *\)\{0,1\}\([^ ]*\)  *$1  *main.*/\2/p" "$f"
	done
	true
}

# unpack RELEASE PACKAGE...: download the packages and unpack them as DIR/RELEASE.
unpack() {
	release=$1
	shift
	[ -d "$dir/$release" ] && return
	uri=$(mirror "$VERSION_CODENAME" | head -n 1)
	[ -n "$uri" ] || { say "no apt source for $VERSION_CODENAME on this machine"; return 1; }
	keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	[ -r "$keyring" ] && signed="[signed-by=$keyring]" || signed=

	# Next to its place, so that the rename at the end is one step: a run that is broken off leaves nothing half done.
	[ -z "$work" ] || rm -rf "$work"
	work=$(mktemp -d "$dir/unpack.XXXXXX")
	mkdir -p "$work/lists/partial" "$work/archives/partial" "$work/debs" "$work/root"
	echo "deb $signed $uri $release main" >"$work/sources.list"
	say "unpacking $* of Debian $release"
	fetch "$work" update && (cd "$work/debs" && fetch "$work" download "$@") || return 1
	for deb in "$work"/debs/*.deb; do
		dpkg -x "$deb" "$work/root" || return 1
	done
	mv "$work/root" "$dir/$release" 2>/dev/null || [ -d "$dir/$release" ] || return 1
	rm -rf "$work"
	work=
}

# fetch WORK ARGS...: apt-get on the one source list in WORK, with a package index of its own, and blind to
# what is installed (an installed security update would be the version that it looks for).
fetch() {
	at=$1
	shift
	apt-get -qq -o Dir::Etc::sourcelist="$at/sources.list" -o Dir::Etc::sourceparts=/nonexistent \
		-o Dir::State::Lists="$at/lists" -o Dir::State::status=/dev/null -o Dir::Cache::archives="$at/archives" \
		-o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root \
		-o Acquire::Retries=3 "$@" >&2
}

# wrap NAME RELEASE BINARY: DIR/bin/NAME runs the unpacked BINARY by its own release's loader. It
# finds its release beside itself, so the folder may be moved.
wrap() {
	loader=$(cd "$dir/$2" && find . -name 'ld-linux*.so.*' | head -n 1)
	[ -n "$loader" ] || return 1
	triplet=$(basename "$(dirname "$loader")")
	cat >"$dir/bin/$1.new" <<-W
		#!/bin/sh
		r=\${0%/*}/../$2
		exec "\$r/$loader" --library-path "\$r/lib/$triplet:\$r/usr/lib/$triplet" --argv0 $3 "\$r/usr/bin/$3" "\$@"
	W
	chmod +x "$dir/bin/$1.new"
	mv "$dir/bin/$1.new" "$dir/bin/$1"
}

# from_debian NAME RELEASE BINARY PACKAGE...: unpack and wrap, on Debian only.
from_debian() {
	[ "${ID:-}" = debian ] && [ -n "${VERSION_CODENAME:-}" ] && command -v dpkg >/dev/null || return 1
	name=$1 release=$2 binary=$3
	shift 3
	unpack "$release" "$@" && wrap "$name" "$release" "$binary"
}

bookworm="redis-server redis-tools libc6 libatomic1 libgcc-s1 libjemalloc2
	liblzf1 libssl3 libstdc++6 libsystemd0 libcap2 libgcrypt20 libgpg-error0 liblz4-1 liblzma5 libzstd1"
trixie="redis-server redis-tools valkey-server valkey-tools libc6 libatomic1 libgcc-s1 libjemalloc2
	liblzf1 libssl3t64 libstdc++6 libsystemd0 libcap2 libzstd1 zlib1g"

ID= VERSION_CODENAME=
[ -r /etc/os-release ] && . /etc/os-release

have redis-server-7 7 || from_path redis-server-7 redis-server 7 ||
	from_debian redis-server-7 bookworm redis-server $bookworm || true
have redis-server-8 8 || from_path redis-server-8 redis-server 8 ||
	from_debian redis-server-8 trixie redis-server $trixie || true
have valkey-server-8 8 || from_path valkey-server-8 valkey-server 8 ||
	from_debian valkey-server-8 trixie valkey-server $trixie || true

for want in "redis-server-7 7 REDIS_SERVER_7 Redis 7.0" "redis-server-8 8 REDIS_SERVER_8 Redis 8.0" \
	"valkey-server-8 8 VALKEY_SERVER_8 Valkey 8.1"; do
	set -- $want
	if have "$1" "$2"; then
		echo "$4 $5: $dir/bin/$1 ($("$dir/bin/$1" --version | sed 's/.*v=\([^ ]*\).*/\1/'))"
	else
		say "$4 $5 is missing: install it and put its server on PATH, or name it in $3"
	fi
done

module=${REJSON_MODULE:-$dir/lib/rejson.so}
if [ -n "${REJSON_MODULE:-}" ] && [ ! -r "$module" ]; then
	say "RedisJSON is missing: REJSON_MODULE names $module, and there is no such file"
elif [ -n "${REJSON_MODULE:-}" ] || (cd "$repo" && go run ./internal/rejson "$dir" >&2); then
	echo "REJSON_MODULE RedisJSON: $module"
else
	say "RedisJSON is missing: name the file of the module in REJSON_MODULE"
fi

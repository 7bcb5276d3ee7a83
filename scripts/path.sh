#!/bin/sh
# Prints how many functions of the library, in how many files, Lock and Unlock run: uncontended, under a context that can
# end. It counts what runs for each of 1,000 pairs. With -v it names them.
set -e
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go test -count=1 -run '^TestPath$' -covermode=atomic -coverpkg=./... -coverprofile="$dir/all" . -args -pairs 1000 >"$dir/out" || {
	cat "$dir/out"
	exit 1
}
# What ran for each pair is kept; the rest counts as not run.
awk 'NR == 1 { print; next } { if ($NF < 1000) $NF = 0; print }' "$dir/all" >"$dir/path"
go tool cover -func="$dir/path" | grep -v -e '^total:' -e '[[:space:]]0\.0%$' -e '/internal/redistest/' -e '/internal/pace/' >"$dir/functions"
if [ "$1" = -v ]; then
	sed 's|^github.com/rueidisson/rueidisson/||' "$dir/functions" | awk '{ print $1, $2 }'
fi
echo "$(wc -l <"$dir/functions") functions in $(cut -d: -f1 "$dir/functions" | sort -u | wc -l) files"

package queue

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// TestThePackedElementOfJava is one that Redisson has written.
func TestThePackedElementOfJava(t *testing.T) {
	t.Parallel()
	theirs, err := hex.DecodeString("08" + "3132333435363738" + "0300000000000000" + "76616c")
	require.NoError(t, err)
	text, err := unpack(string(theirs))
	require.NoError(t, err)
	require.Equal(t, "val", text)
	mine := pack("val")
	require.Equal(t, string(theirs[:1]), mine[:1])
	require.Equal(t, string(theirs[9:]), mine[9:])
	require.NotEqual(t, mine, pack("val"))
}

// unpackScript is what scripts do with a packed element: 0 it is none, 1 it is.
func unpackScript(t testing.TB) string {
	t.Helper()
	part, err := scripts.Read(lua, "lua/packed.lua")
	require.NoError(t, err)
	return part + "\nlocal p = payload(ARGV[1])\nif p then return {1, p} end\nreturn {0, ''}"
}

// unpacksAlike compares the two readers of a packed element.
func unpacksAlike(t testing.TB, raw rueidis.Client, script, packed string) {
	t.Helper()
	got, err := raw.Do(t.Context(), raw.B().Eval().Script(script).Numkeys(0).Arg(packed).Build()).ToArray()
	require.NoError(t, err)
	is, err := got[0].AsInt64()
	require.NoError(t, err)
	theirs, err := got[1].ToString()
	require.NoError(t, err)
	mine, err := unpack(packed)
	require.Equal(t, is == 1, err == nil, "%q: %v", packed, err)
	require.Equal(t, theirs, mine)
}

func FuzzPackedElement(f *testing.F) {
	for _, seed := range []string{
		"", "\x00", "\x08", "\xff", pack(""), pack("a"), pack("a")[:17], pack("a") + "b", pack(strings.Repeat("x", 300)),
		"\x00\x01\x00\x00\x00\x00\x00\x00\x00a", "\x00\x01\x00\x00\x00\x01\x00\x00\x00a", "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		"\xff" + strings.Repeat("a", 255) + "\x02\x00\x00\x00\x00\x00\x00\x00ab",
	} {
		f.Add(seed)
	}
	raw, script := miniredisClient(f), unpackScript(f)
	f.Fuzz(func(t *testing.T, packed string) {
		unpacksAlike(t, raw, script, packed)
		text, err := unpack(pack(packed))
		require.NoError(t, err)
		require.Equal(t, packed, text)
	})
}

// TestServersReadAPackedElementAlike, also where Lua is not that of the embedded one.
func TestServersReadAPackedElementAlike(t *testing.T) {
	t.Parallel()
	raw, script := redistest.Shared(t).Client(t), unpackScript(t)
	whole := pack(strings.Repeat("\x00\xff", 200))
	for n := range len(whole) {
		unpacksAlike(t, raw, script, whole[:n])
		unpacksAlike(t, raw, script, whole[n:])
	}
	unpacksAlike(t, raw, script, whole)
}

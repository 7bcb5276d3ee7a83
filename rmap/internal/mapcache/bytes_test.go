package mapcache

import (
	"encoding/hex"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func unhex(t testing.TB, s string) string {
	t.Helper()
	b, err := hex.DecodeString(s)
	require.NoError(t, err)
	return string(b)
}

// What the real Redisson wrote.
func TestEntriesAreRedissonsBytes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		hex, value string
		idle       time.Duration
	}{
		{"0000000000000000010000000000000077", "w", 0},
		{"0000000000408f40030000000000000076616c", "val", time.Second},
		{"000000000088a340030000000000000076616c", "val", 2500 * time.Millisecond},
		{"00000000000000000000000000000000", "", 0},
	} {
		packed := string(Pack(nil, c.value, c.idle))
		assert.Equal(t, c.hex, hex.EncodeToString([]byte(packed)))
		value, err := Unpack(packed)
		require.NoError(t, err)
		assert.Equal(t, c.value, value)
	}
}

func TestWhatIsNoEntryIsRefused(t *testing.T) {
	t.Parallel()
	for what, text := range map[string]string{
		"nothing":               "",
		"a bare value":          "76",
		"half a header":         "00000000000000000100000000000000"[:30],
		"too short a value":     "0000000000000000020000000000000077",
		"too long a value":      "000000000000000001000000000000007777",
		"a length beyond 2^63":  "000000000000000001000000000000f077",
		"a negative idle time":  "00000000000000c0010000000000000077",
		"no number":             "000000000000f87f010000000000000077",
		"an infinite idle time": "000000000000f07f010000000000000077",
	} {
		_, err := Unpack(unhex(t, text))
		assert.ErrorIs(t, err, errHeader, what)
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add("", int64(0))
	f.Add("value", int64(2500))
	f.Fuzz(func(t *testing.T, value string, ms int64) {
		_, _ = Unpack(value)
		if ms >= 0 && ms < 1<<40 {
			got, err := Unpack(string(Pack(nil, value, time.Duration(ms)*time.Millisecond)))
			require.NoError(t, err)
			assert.Equal(t, value, got)
		}
	})
}

func TestEventsAreRedissonsBytes(t *testing.T) {
	t.Parallel()
	for kind, c := range map[Kind]struct {
		hex  string
		want Event
	}{
		Created: {"01000000000000006b010000000000000076", Event{Created, "k", "v", ""}},
		Removed: {"01000000000000006b010000000000000076", Event{Removed, "k", "v", ""}},
		Expired: {"01000000000000006b0000000000000000", Event{Expired, "k", "", ""}},
		Updated: {"01000000000000006b010000000000000077010000000000000076", Event{Updated, "k", "w", "v"}},
	} {
		got, err := ParseEvent(kind, unhex(t, c.hex))
		require.NoError(t, err)
		assert.Equal(t, c.want, got)
	}
}

func TestWhatIsNoEventIsRefused(t *testing.T) {
	t.Parallel()
	for kind, text := range map[Kind]string{
		Created: "01000000000000006b0100000000000000",
		Removed: "01000000000000006b01000000000000007676",
		Expired: "01000000000000f06b010000000000000076",
		Updated: "01000000000000006b010000000000000077",
	} {
		_, err := ParseEvent(kind, unhex(t, text))
		assert.ErrorContains(t, err, kind.String())
	}
}

func FuzzParseEvent(f *testing.F) {
	f.Add("\x01\x00\x00\x00\x00\x00\x00\x00k\x00\x00\x00\x00\x00\x00\x00\x00")
	f.Fuzz(func(t *testing.T, payload string) {
		for kind := range kinds {
			if ev, err := ParseEvent(kind, payload); err == nil {
				n := len(ev.Key) + len(ev.New) + len(ev.Old) + 16
				if kind == Updated {
					n += 8
				}
				assert.Len(t, payload, n, "all of it was read")
			}
		}
	})
}

func TestChannelsAreRedissons(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "redisson_map_cache_created:{orders}", Created.Channel("orders"))
	assert.Equal(t, "redisson_map_cache_updated:{orders}", Updated.Channel("orders"))
	assert.Equal(t, "redisson_map_cache_removed:a{b}", Removed.Channel("a{b}"))
	assert.Equal(t, "redisson_map_cache_expired:{orders}", Expired.Channel("orders"))
}

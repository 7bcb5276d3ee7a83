package reliable

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"
)

func TestAnEnvelopeIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, h := range []header{{}, {Added: 1795354559270}, {Added: 1<<48 - 1}, {Added: 1 << 48}, {Added: -1}, {Timeout: 7, Values: map[string]string{"a": "1", "": ""}}} {
		for _, value := range []string{"", "value", "\x00\xff\x01"} {
			text, err := seal(h)
			require.NoError(t, err)
			got, of, err := unseal(text + value)
			require.NoError(t, err)
			require.Equal(t, h, got)
			require.Equal(t, value, of)
		}
	}
}

// Most messages have a header of seven bytes.
func TestABriefHeaderIsATime(t *testing.T) {
	t.Parallel()
	text, err := seal(header{Added: 0x0102030405a6})
	require.NoError(t, err)
	require.Equal(t, "\x01\x01\x02\x03\x04\x05\xa6", text)
	for _, added := range []int64{1 << 48, -1, math.MaxInt64, math.MinInt64} {
		h := header{Added: added}
		want, err := msgpack.Marshal(&h)
		require.NoError(t, err)
		got, err := seal(h)
		require.NoError(t, err)
		require.Equal(t, "\x02"+string(rune(len(want)))+string(want), got)
	}
}

func TestWhatIsNoEnvelope(t *testing.T) {
	t.Parallel()
	_, _, err := unseal("\x03\x01\x80value")
	require.ErrorIs(t, err, errVersion)
	for _, text := range []string{"", "\x01", "\x0112345", "\x02", "\x02\x05\x80", "\x02\x80", "\x02\x01\xff", "\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x80", "\x02\x02\x81\xa1", "\x02\x04\x81\xa1t\xff"} {
		_, _, err := unseal(text)
		require.ErrorContains(t, err, "envelope", "%q", text)
	}
}

// What unseal takes, seal writes again as something that it reads as the same. It never
// panics.
func FuzzEnvelope(f *testing.F) {
	for _, seed := range []string{"", "\x01\x00", "\x01123456value", "\x02\x01\x80v", "\x02\x04\x81\xa1a\x01value", "\x02\x07\x81\xa1h\x81\xa1k\xa0", "\x02\x06\xdf\xff\xff\xff\xff\xa1"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, value, err := unseal(string(b))
		if err != nil {
			return
		}
		text, err := seal(h)
		require.NoError(t, err)
		again, same, err := unseal(text + value)
		require.NoError(t, err)
		if len(h.Values) == 0 {
			h.Values, again.Values = nil, nil
		}
		assert.Equal(t, h, again)
		assert.Equal(t, value, same)
	})
}

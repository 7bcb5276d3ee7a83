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
	for _, h := range []header{{}, {Added: 1795354559270}, {Timeout: 7, Values: map[string]string{"a": "1", "": ""}}} {
		for _, value := range []string{"", "value", "\x00\xff\x01"} {
			text, err := seal(&h)
			require.NoError(t, err)
			got, of, err := unseal(text + value)
			require.NoError(t, err)
			require.Equal(t, h, got)
			require.Equal(t, value, of)
		}
	}
}

// A header with nothing but a time is written without the encoder, as that writes it.
func TestAPlainHeaderIsThatOfTheEncoder(t *testing.T) {
	t.Parallel()
	for _, added := range []int64{0, 1, 1795354559270, -1, math.MaxInt64} {
		h := header{Added: added}
		want, err := msgpack.Marshal(&h)
		require.NoError(t, err)
		got, err := seal(&h)
		require.NoError(t, err)
		require.Equal(t, "\x01"+string(rune(len(want)))+string(want), got)
	}
}

func TestWhatIsNoEnvelope(t *testing.T) {
	t.Parallel()
	_, _, err := unseal("\x02\x01\x80value")
	require.ErrorIs(t, err, errVersion)
	for _, text := range []string{"", "\x01", "\x01\x05\x80", "\x01\x80", "\x01\x01\xff", "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x80", "\x01\x02\x81\xa1", "\x01\x04\x81\xa1t\xff"} {
		_, _, err := unseal(text)
		require.ErrorContains(t, err, "envelope", "%q", text)
	}
}

// What unseal takes, seal writes again as something that it reads as the same. It never
// panics.
func FuzzEnvelope(f *testing.F) {
	for _, seed := range []string{"", "\x01\x00", "\x01\x01\x80v", "\x01\x04\x81\xa1a\x01value", "\x01\x07\x81\xa1h\x81\xa1k\xa0", "\x01\x06\xdf\xff\xff\xff\xff\xa1"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, value, err := unseal(string(b))
		if err != nil {
			return
		}
		text, err := seal(&h)
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

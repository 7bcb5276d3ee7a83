package multimap

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzValuesOfAMultimap: what is unpacked is all that there is, or nothing.
func FuzzValuesOfAMultimap(f *testing.F) {
	for _, packed := range []string{"", "1:v", "0:", "3:abc0:1:v", "3:ab", "-1:v", "1:v1", "99999999999999999999:v", "+1:v", ":"} {
		f.Add(packed)
	}
	f.Fuzz(func(t *testing.T, packed string) {
		texts, err := unpack(packed)
		if err != nil {
			require.ErrorIs(t, err, ErrDecode)
			require.Empty(t, texts)
			return
		}
		size, again := 0, ""
		for _, text := range texts {
			size += len(text) + 2
			again += strconv.Itoa(len(text)) + ":" + text
		}
		require.LessOrEqual(t, size, len(packed))
		same, err := unpack(again)
		require.NoError(t, err)
		require.Equal(t, texts, same)
	})
}

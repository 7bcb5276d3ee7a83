package codec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatIsTextIsWrittenAsText(t *testing.T) {
	t.Parallel()
	require.True(t, IsText(Key[string]()))
	require.True(t, IsText(For[int](Text)))
	require.False(t, IsText(For[string](Bytes)))
	require.False(t, IsText(For[int](Msgpack)))
	require.False(t, IsText[int](nil))
}

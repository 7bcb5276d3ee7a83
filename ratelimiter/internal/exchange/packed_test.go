package exchange

import (
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// numbersAtTheBounds are such as stand in states and in arguments.
var numbersAtTheBounds = []int64{
	0, 1, -1, 127, 128, -128, 255, 256, -256, 1<<31 - 1, -1 << 31, 1_700_000_000_000_001, bucket.Exact - 1, bucket.Exact, 1 - bucket.Exact, -bucket.Exact,
}

func TestNumbersAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	text := bucket.Pack(numbersAtTheBounds...)
	require.Len(t, text, bucket.Width*len(numbersAtTheBounds))
	for i, n := range numbersAtTheBounds {
		assert.Equal(t, n, bucket.Unpack(text, i))
	}
	assert.Equal(t, "\x00\x00\x00\x00\x00\x01\x02\xff\xff\xff\xff\xff\xff\xff", bucket.Pack(258, -1))
}

// The lines for a server without the library write what the library does.
func TestServersReadAndWriteNumbersAlike(t *testing.T) {
	t.Parallel()
	part, err := scripts.Read(lua, "lua/state.lua")
	require.NoError(t, err)
	script := part + `
local numbers = {struct.unpack(ARGV[1], ARGV[2])}
local texts = {}
for i = 1, #ARGV[2] / 7 do
	texts[i] = string.format('%.0f', numbers[i])
end
return {struct.pack(ARGV[1], unpack(numbers, 1, #texts)), unpack(texts)}`
	format := ">"
	want := []string{bucket.Pack(numbersAtTheBounds...)}
	for _, n := range numbersAtTheBounds {
		format += "i7"
		want = append(want, bucket.Decimal(n))
	}
	inProcess, err := rueidis.NewClient(redistest.Miniredis(t).ClientOption())
	require.NoError(t, err)
	t.Cleanup(inProcess.Close)
	clients := map[string]rueidis.Client{"miniredis": inProcess}
	for _, version := range redistest.Versions {
		clients[version] = redistest.Shared(t, redistest.Version(version)).Client(t)
	}
	for name, c := range clients {
		got, err := c.Do(t.Context(), c.B().Eval().Script(script).Numkeys(0).Arg(format, want[0]).Build()).AsStrSlice()
		require.NoError(t, err, name)
		assert.Equal(t, want, got, name)
	}
}

package figures

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "speed.json")
	none, err := Read(path)
	require.NoError(t, err)
	require.Empty(t, none)
	want := map[string]Result{
		"b": {Row: "b", Unit: "us", Ours: 1.5, Base: 3, Ratio: 0.5, Low: 0.4, High: 0.6, Slices: 11, Day: "2026-11-29", Note: "a \"note\""},
		"a": {Row: "a", Unit: "MB", Ours: 7, Day: "2026-11-29"},
	}
	require.NoError(t, Write(path, []string{"b", "gone", "a"}, want))
	got, err := Read(path)
	require.NoError(t, err)
	require.Equal(t, want, got)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, `[
  {"row":"b","unit":"us","ours":1.5,"base":3,"ratio":0.5,"low":0.4,"high":0.6,"slices":11,"day":"2026-11-29","note":"a \"note\""},
  {"row":"a","unit":"MB","ours":7,"day":"2026-11-29"}
]
`, string(text))
}

// TestOrderOfRowsIsKept: results that are written again change no line of the others.
func TestOrderOfRowsIsKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "speed.json")
	require.NoError(t, Write(path, []string{"a"}, map[string]Result{"a": {Row: "a"}, "b": {Row: "b"}}))
	got, err := Read(path)
	require.NoError(t, err)
	require.Len(t, got, 1, "a row that is gone leaves the file")
	require.NoError(t, os.WriteFile(path, []byte("[{"), 0o644))
	_, err = Read(path)
	require.Error(t, err)
}

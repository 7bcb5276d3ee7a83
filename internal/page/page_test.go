package page

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// file is a page with two parts.
func file(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.md")
	text := "# Top\n<!-- one:begin -->\nfirst\n<!-- one:end -->\nbetween\n<!-- two:begin -->\n<!-- two:end -->\nend\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestAPartIsReplacedAndTheRestStays(t *testing.T) {
	t.Parallel()
	path := file(t)
	for range 2 { // the second time changes nothing
		require.NoError(t, Write(path, "two", "second\n"))
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "# Top\n<!-- one:begin -->\nfirst\n<!-- one:end -->\nbetween\n"+
			"<!-- two:begin -->\nsecond\n<!-- two:end -->\nend\n", string(content))
	}
	text, err := Read(path, "one")
	require.NoError(t, err)
	require.Equal(t, "first\n", text)
}

func TestADifferenceIsToldLineByLine(t *testing.T) {
	t.Parallel()
	path := file(t)
	require.NoError(t, Check(path, "one", "first\n", "so"))
	require.EqualError(t, Check(path, "one", "other\n", "so"), path+" does not say so:\n- first\n+ other")
}

func TestAPageWithoutThePartIsAnError(t *testing.T) {
	t.Parallel()
	path := file(t)
	require.ErrorContains(t, Write(path, "three", "x\n"), "page.md: no lines <!-- three:begin --> and <!-- three:end -->")
	require.Error(t, Check(path, "three", "x\n", "so"))
	_, err := Read(path+"x", "one")
	require.ErrorIs(t, err, os.ErrNotExist)
}

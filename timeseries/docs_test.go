package timeseries

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestThePagesTellTheCountsOfACall compares the numbers of the pages with the constants.
func TestThePagesTellTheCountsOfACall(t *testing.T) {
	t.Parallel()
	for page, facts := range map[string][]string{
		"../docs/promises.md": {fmt.Sprintf("%d entries of `AddMany`, %d of a pop or of `RemoveRange`, or 1 MB", mostAdded, mostTaken)},
		"../docs/guide/values.md": {
			fmt.Sprintf("`RemoveRange` | 1 script call for %d entries or 1 MB, of `AddMany` for %d |", mostTaken, mostAdded),
			fmt.Sprintf("`Last(ctx, n)` | 1 script call for %d entries or 1 MB |", mostPage),
			fmt.Sprintf("passed over: %d in a call", mostLooked),
			fmt.Sprintf("up to %d entries of a time series", mostTaken),
		},
		"series.go": {
			fmt.Sprintf("one script call for each %d entries, or for as many as have 1 MB", mostAdded),
			fmt.Sprintf("one script call for each %d entries, expired ones too", mostPage),
			fmt.Sprintf("one script call for each %d entries, or for as many as have about 1 MB, or for each %d that have expired", mostTaken, mostLooked),
		},
		"doc.go": {fmt.Sprintf("sweep them, %d at a time", mostSwept)},
	} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, fact := range facts {
			require.Contains(t, strings.ReplaceAll(string(text), "\n// ", " "), fact, page)
		}
	}
}

package keys

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEntryLocksAreThoseOfRedisson(t *testing.T) {
	t.Parallel()
	require.Equal(t, "{m}:BhA5LsZVetaLy1jDRVlHJg:lock", EntryLock("m", "abc"))
	require.Equal(t, "{m}:R1SCJPfoIDJlCpEPimYgnA:lock", EntryLock("m", `"abc"`))
	require.Equal(t, "m:{1}:BhA5LsZVetaLy1jDRVlHJg:lock", EntryLock("m:{1}", "abc"))
}

func TestWhatRemembersARequestIsInTheSlotOfItsMap(t *testing.T) {
	t.Parallel()
	require.Equal(t, "rueidisson_map_done:{m}:7", MapDone("m", "7"))
	require.Equal(t, "rueidisson_map_done:m:{1}:7", MapDone("m:{1}", "7"))
}

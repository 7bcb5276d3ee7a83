package enginetest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAnAcceptedWriteHasDoneWhatItDoes: without an error nothing else is accepted, and only for want of memory anything at all.
func TestAnAcceptedWriteHasDoneWhatItDoes(t *testing.T) {
	t.Parallel()
	o := Object{Before: "old", Writes: map[string]Write{"adds": {Left: "new"}, "looks": {Left: "old"}, "by chance": {}}}
	for _, one := range []struct {
		refusal, what, left string
		fine                bool
	}{
		{"OOM", "adds", "new", true}, {"OOM", "adds", "old", false}, {"OOM", "looks", "old", true}, {"OOM", "looks", "new", false}, {"OOM", "by chance", "any", true},
		{"READONLY", "adds", "new", false}, {"READONLY", "adds", "old", false}, {"READONLY", "looks", "old", true}, {"READONLY", "looks", "new", false},
		{noWrites, "by chance", "old", false}, {"MISCONF", "by chance", "any", false},
	} {
		require.Equal(t, one.fine, o.accepted(one.refusal, one.what, one.left) == "", "%v", one)
	}
}

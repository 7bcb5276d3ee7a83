package send

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/scripts"
)

const memory = 39 * time.Second

// rooms are the times of the tries of a transfer, until there is no more.
func rooms(t *transfer, send time.Duration) (all []time.Duration) {
	for losses := 1; losses == 1 || t.more(losses, 0, send, memory); losses++ {
		all = append(all, t.room(send))
		t.tries++
	}
	return all
}

func TestTransferHasTheTimeOfItsLength(t *testing.T) {
	t.Parallel()
	const s, mb = time.Second, 1 << 20
	reads := new(Sizing)
	for name, of := range map[string]struct {
		t    transfer
		want []time.Duration
	}{
		"a read is slowed down to a megabyte a second": {
			transfer{by: reads, asked: true, bytes: 8 * mb}, []time.Duration{3*s + 1*s, 3*s + 2*s, 3*s + 4*s, 3*s + 8*s},
		},
		"a read whose length nothing tells": {transfer{by: reads, blind: true}, []time.Duration{12 * s, 48 * s}},
		"a read that is longer than was expected": {
			transfer{by: reads, blind: true, bytes: 20 * mb}, []time.Duration{3*s + 20*s, 48 * s},
		},
		"what takes":        {transfer{by: &Sizing{Writes: true}, bytes: 8 * mb}, []time.Duration{3*s + 8*s, 3*s + 8*s, 3*s + 8*s, 3*s + 8*s}},
		"what is sent once": {transfer{bytes: 8 * mb, single: true}, []time.Duration{3*s + 8*s}},
		"a write that is sent again before it may be forgotten": {
			transfer{bytes: 200 * mb}, []time.Duration{3*s + 25*s},
		},
	} {
		got := rooms(&of.t, 3*s)
		if of.t.single {
			got = got[:1] // the loop sends it no more
		}
		require.Equal(t, of.want, got, name)
	}
}

func TestTransferThatIsShortIsBoundedAsEver(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]transfer{
		"of an operation whose answers are short": {bytes: 100},
		"whose length was asked":                  {by: new(Sizing), asked: true, bytes: 100},
		"of a server that is silent":              {by: new(Sizing), bytes: large, silent: true},
	} {
		require.False(t, of.more(1, 0, 3*time.Second, memory), name)
	}
}

func TestTransferIsWeighedOnlyWhenTimeHasRunOut(t *testing.T) {
	t.Parallel()
	for err, late := range map[error]bool{context.DeadlineExceeded: true, os.ErrDeadlineExceeded: true, errors.New("EOF"): false} {
		of := transfer{by: new(Sizing)}
		of.lost(err, time.Second)
		require.Equal(t, late, of.late, "%v", err)
		require.Equal(t, time.Second, of.at)
	}
}

func TestTransferKnowsWhatIsExpected(t *testing.T) {
	t.Parallel()
	get, set := scripts.NewCommand("GET", scripts.Reads), scripts.NewCommand("SET", scripts.Unsafe)
	op, short := transferOf(Expect(get, large-1), []string{"k"}, nil)
	require.Equal(t, Operation(get), op)
	require.False(t, short.long())
	op, long := transferOf(Expect(Sized(get, Sizing{}), large), []string{"k"}, nil)
	require.Equal(t, Operation(get), op)
	require.True(t, long.long())
	require.True(t, long.reads())
	require.False(t, long.single)
	_, written := transferOf(set, []string{"k"}, []string{string(make([]byte, large))})
	require.True(t, written.long())
	require.True(t, written.single)
	require.False(t, written.reads())
}

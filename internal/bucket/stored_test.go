package bucket

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What is stored is read as a request would find it a second later: two tokens
// have come since.
func TestAStateIsReadAsARequestWouldFindIt(t *testing.T) {
	t.Parallel()
	const then, now = 1_000_000, 2_000_000
	r, err := Resolve(perSecond(2, 10))
	require.NoError(t, err)
	r.Identify(5, 3)
	for name, c := range map[string]struct {
		state string
		left  int64
		block time.Duration
	}{
		"of the rule":                     {state: Pack(5, then, 6, 0), left: 6},
		"and a part of a token":           {state: Pack(5, then, 6, 1), left: 5},
		"in debt":                         {state: Pack(5, then, 20, 0), left: -8},
		"in debt by a part of a token":    {state: Pack(5, then, 12, 1), left: -1},
		"that has filled":                 {state: Pack(5, then, 2, 0), left: 10},
		"of the future":                   {state: Pack(5, 9_000_000, 6, 0), left: 4},
		"of a rule that came with a call": {state: Pack(-7, then, 6, 0), left: 6},
		"of an older rule":                {state: Pack(4, then, 6, 0), left: 6},
		"of an older rule, in debt":       {state: Pack(4, then, 20, 0), left: 2},
		"of before a reset":               {state: Pack(2, then, 9, 0), left: 10},
		"blocked":                         {state: Pack(5, then, 2, 0, now+7), left: 10, block: 7 * time.Microsecond},
		"that was blocked":                {state: Pack(5, then, 6, 0, now), left: 6},
	} {
		s, ok := r.Read(c.state, now)
		assert.True(t, ok, name)
		assert.Equal(t, c.left, s.Left(), name)
		assert.Equal(t, c.block, time.Duration(s.Block)*time.Microsecond, name)
	}
}

func TestWhatIsNoState(t *testing.T) {
	t.Parallel()
	r, err := Resolve(perSecond(2, 10))
	require.NoError(t, err)
	for _, text := range []string{"", Pack(5, 1, 2), Pack(1, 2, 3, 4, 5, 6), "5 1000000 6 0", "something of 28 letters it is", Pack(5, -1, 2, 0), Pack(5, 1, -2, 0), Pack(5, 1, 2, -1), Pack(5, 1, 2, 0, -1), strings.Repeat("ж", 14)} {
		_, ok := r.Read(text, 2_000_000)
		assert.False(t, ok, "%q", text)
	}
}

func TestARateThatDecidesByItselfLacksNothing(t *testing.T) {
	t.Parallel()
	r, err := Resolve(Unlimited)
	require.NoError(t, err)
	s, ok := r.Identify(5, 5).Read(Pack(4, 1, 2, 0), 2)
	assert.True(t, ok)
	assert.Zero(t, s.Missing)
}

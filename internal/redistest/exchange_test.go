package redistest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAScriptIsExchanged(t *testing.T) {
	t.Parallel()
	s := Shared(t)
	p := NewProxy(t, s.Addr())
	c := dial(t, p.Addr())
	body := "return 'right ' .. ARGV[1] -- " + Name(t)
	require.Equal(t, "right a", c.do("EVAL", body, "0", "a"))
	x := p.Exchange("'right '", "'wrong '")
	require.Equal(t, "wrong b", c.do("EVAL", body, "0", "b"))
	require.Equal(t, "wrong c", c.do("EVALSHA", scriptSum(body), "0", "c"))
	require.Equal(t, "other", c.do("EVAL", "return 'other'", "0"))
	calls, err := x.Calls()
	require.NoError(t, err)
	require.Equal(t, 2, calls)
	x.Cancel()
	require.Equal(t, "right d", c.do("EVALSHA", scriptSum(body), "0", "d"))

	x = p.Exchange("1", "2")
	c.do("EVAL", "return 1 + 1", "0")
	_, err = x.Calls()
	require.ErrorContains(t, err, "more than once")
}

package rueidisson_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

// plainObserver hears of what every observer hears of.
type plainObserver struct{ rueidisson.Observer }

// batchObserver also hears of combined calls.
type batchObserver struct {
	rueidisson.Observer
	calls int
}

func (o *batchObserver) CallsSent(_ string, calls int) { o.calls += calls }

// TestCombinedCallsAreToldToWhoWantsToHear: others cost no call.
func TestCombinedCallsAreToldToWhoWantsToHear(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	require.Nil(t, server.NewClient(t).Engine().Sent("counter"))
	require.Nil(t, server.NewClient(t, rueidisson.WithObserver(plainObserver{})).Engine().Sent("counter"))
	o := &batchObserver{}
	server.NewClient(t, rueidisson.WithObserver(o)).Engine().Sent("counter")(3)
	require.Equal(t, 3, o.calls)
}

package timeseries

import (
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/sweep"
)

// hub is what the time series of one client have in common.
type hub struct {
	e      *locking.Engine
	sizes  *paging.Sizes // of entries
	latch  *sweep.Latch
	sweeps *sweep.Sweeper
}

type hubKey struct{}

// hubOf returns the hub of a client.
func hubOf(e *locking.Engine) *hub {
	return e.Shared(hubKey{}, func() any {
		return &hub{e: e, sizes: paging.NewSizes(), latch: sweep.NewLatch(e, "time series"), sweeps: sweep.Of(e)}
	}).(*hub)
}

package queue

import (
	"github.com/rueidisson/rueidisson/internal/engine"
)

// hub is what the queues of one client have in common.
type hub struct {
	e        *engine.Engine
	requests *engine.Requests
}

type hubKey struct{}

func hubOf(e *engine.Engine) *hub {
	return e.Shared(hubKey{}, func() any {
		return &hub{e: e, requests: engine.NewRequests(e)}
	}).(*hub)
}

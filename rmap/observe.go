package rmap

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/core"
)

// swept tells of a visit of the sweeper, and of what a write has evicted.
func (h *hub) swept(s core.Sweep) {
	if h.e.Caches != nil {
		h.e.Caches.Swept(context.Background(), s)
	}
}

// heard tells of an event that has come.
func (h *hub) heard(name string, kind EventKind) {
	if h.e.Caches != nil {
		h.e.Caches.Heard(context.Background(), name, kind.String())
	}
}

package rmap

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/core"
)

// loaded tells of a call of a loader.
func (h *hub) loaded(ctx context.Context, l core.Load) {
	if h.e.Caches != nil {
		h.e.Caches.Loaded(ctx, l)
	}
}

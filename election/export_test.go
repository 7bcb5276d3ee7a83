package election

import (
	"context"
	"time"
)

// Extend makes the term of a leader last for d from now.
func Extend(ctx context.Context, t *Term, d time.Duration) error { return t.hold.Extend(ctx, d) }

package engine

import (
	"context"
	"time"
)

// Observer is told what happens. Its methods are called on the paths that they
// describe, so they must be quick and must not call back into the client. The
// root package declares the same interface with its documentation.
type Observer interface {
	WaitStarted(ctx context.Context, kind, name string)
	WaitEnded(ctx context.Context, kind, name string, waited time.Duration, err error)
	Acquired(ctx context.Context, kind, name string, handed bool)
	Released(ctx context.Context, kind, name string, handed bool)
	Lost(kind, name string, cause error)
	Renewed(holds int, took time.Duration, err error)
	ScriptRan(ctx context.Context, script string, took time.Duration, sends int, err error)
}

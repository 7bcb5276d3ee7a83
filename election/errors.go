package election

import "github.com/rueidisson/rueidisson/internal/core"

// What [Election.Observe] yields while it goes on. Other errors are those of package
// lock.
var (
	// ErrDisconnected is yielded once when the server is not reached any more. The
	// leader may change meanwhile. The loop goes on.
	ErrDisconnected = core.ErrDisconnected

	// ErrReconnected is yielded once when the server is reached again after an
	// [ErrDisconnected]. What has changed meanwhile follows. The loop goes on.
	ErrReconnected = core.ErrReconnected
)

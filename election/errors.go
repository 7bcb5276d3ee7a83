package election

import "github.com/rueidisson/rueidisson/internal/core"

// The notices that [Election.Observe] yields without ending. Other errors are those of package
// lock.
var (
	// ErrDisconnected is yielded once when the server cannot be reached. The leader may change
	// meanwhile. The loop continues.
	ErrDisconnected = core.ErrDisconnected

	// ErrReconnected is yielded once when the server is reached again after an [ErrDisconnected].
	// What has changed meanwhile follows. The loop continues.
	ErrReconnected = core.ErrReconnected
)

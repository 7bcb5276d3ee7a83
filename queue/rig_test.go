package queue

import (
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// engineOn returns an engine on a client that somebody else closes.
var engineOn = enginetest.Plain

var onServers, onServersTogether, named, miniredisClient = redistest.OnServers, redistest.OnServersTogether, redistest.Named, redistest.MiniredisClient

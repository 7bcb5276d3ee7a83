package stream

import (
	"testing"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// soon bounds the time of what nothing holds up.
var soon = redistest.Soon

// engineOn returns an engine on a client that somebody else closes.
var engineOn, shortSends = enginetest.Plain, enginetest.ShortSends

var onServers, onReal, named, miniredisClient = redistest.OnServers, redistest.OnStarted, redistest.Named, redistest.MiniredisClient

var through, within = redistest.ThroughProxy, redistest.SoonContext

package bench

import (
	"testing"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestMain(m *testing.M) {
	redistest.Main(m, redistest.Children{
		"contender":    contender,
		"waiter":       waiterOurs,
		"bare waiter":  waiterFloor,
		"crowd":        crowded,
		"permit crowd": permitCrowd,
		"turns":        turnTaker,
		"holder":       holder,
		"visitor":      visitor,
		"leader":       leader,
		"audience":     listeners,
	})
}

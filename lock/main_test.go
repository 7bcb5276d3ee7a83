package lock_test

import (
	"maps"
	"testing"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestMain(m *testing.M) {
	children := redistest.Children{}
	for _, of := range []redistest.Children{failClosedChildren, waitingChildren} {
		maps.Copy(children, of)
	}
	redistest.Main(m, children)
}

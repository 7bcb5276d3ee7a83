package lock_test

import "github.com/rueidisson/rueidisson/internal/redistest"

var failClosedChildren redistest.Children

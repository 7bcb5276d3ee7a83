package bloom

import "github.com/rueidisson/rueidisson/internal/redistest"

var fleet = redistest.Children{}

package rmap

import (
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// addend is a number as the server adds it.
type addend struct {
	text        string
	float       bool
	least, most string // of the sum, where the type is narrower than what the server adds
}

func (a addend) command() *scripts.Command {
	if a.float {
		return hincrbyfloat
	}
	return hincrby
}

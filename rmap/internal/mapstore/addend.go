package mapstore

import (
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// Addend is a number as the server adds it.
type Addend struct {
	Text        string
	Float       bool
	Least, Most string // of the sum, where the type is narrower than what the server adds
}

func (a Addend) command() *scripts.Command {
	if a.Float {
		return hincrbyfloat
	}
	return hincrby
}

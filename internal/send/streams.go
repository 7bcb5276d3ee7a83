package send

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/scripts"
)

var lengthScript = scripts.Must(lua, "lua/length.lua")

// StreamLength returns how many entries a stream has. It asks by a script: miniredis
// answers an XLEN of another type twice, which no client bears.
func (s *Sender) StreamLength(ctx context.Context, key string) (int64, error) {
	return Number(s.Run(ctx, lengthScript, []string{key}, nil))
}

package fairlock

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/rueidis"
)

// types are the types of the keys of most scripts.
var types = [...]string{"hash", "list", "zset", "zset", "zset"}

// named adds to an error of the server which key has another type.
func (p *protocol) named(ctx context.Context, err error) error {
	var reply *rueidis.RedisError
	if !errors.As(err, &reply) || !strings.HasPrefix(reply.Error(), "WRONGTYPE") {
		return err
	}
	for i, key := range p.on {
		is, unasked := p.e.Redis.Do(ctx, p.e.Redis.B().Type().Key(key).Build()).ToString()
		if unasked == nil && is != "none" && is != types[i] {
			return fmt.Errorf("%q is a %s, not a %s: %w", key, is, types[i], err)
		}
	}
	return err
}

package peer

import (
	"context"
	"fmt"
	"time"
)

// object is a Java object as one thread uses it.
type object struct {
	peer   *Peer
	thread string
	kind   string
	name   string
}

func (o object) do(ctx context.Context, operation string, args ...any) (Reply, error) {
	words := []string{o.kind, operation, o.name}
	for _, arg := range args {
		if d, ok := arg.(time.Duration); ok {
			arg = millis(d)
		}
		words = append(words, fmt.Sprint(arg))
	}
	return o.peer.Do(ctx, o.thread, words...)
}

func (o object) void(ctx context.Context, operation string, args ...any) error {
	_, err := o.do(ctx, operation, args...)
	return err
}

func (o object) truth(ctx context.Context, operation string, args ...any) (bool, error) {
	reply, err := o.do(ctx, operation, args...)
	if err != nil {
		return false, err
	}
	return reply.Bool()
}

func (o object) number(ctx context.Context, operation string, args ...any) (int64, error) {
	reply, err := o.do(ctx, operation, args...)
	if err != nil {
		return 0, err
	}
	return reply.Int()
}

package send

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// maxAckWaits bounds the WAITs in flight: rueidis gives each a connection of
// its own.
const maxAckWaits = 32

// RunAcked is Run followed by WAIT on the same connection. acks is how many
// replicas confirmed in time; it means something only if the script wrote.
func (s *Sender) RunAcked(ctx context.Context, script *scripts.Script, keys, args []string) (answer Answer, acks int64, err error) {
	select {
	case s.acks <- struct{}{}:
		defer func() { <-s.acks }()
	case <-ctx.Done():
		return Answer{}, 0, core.ContextError(ctx)
	case <-s.Closing():
		return Answer{}, 0, core.ErrClosed
	}
	answer, err = s.loop(ctx, script, &transfer{acked: true}, func(bool) (rueidis.RedisResult, error) {
		bound, cancel := context.WithTimeout(&sendContext{Context: s.Base(), values: ctx}, s.SendTimeout()+s.AckTimeout)
		defer cancel()
		res, wait, err := s.execAcked(bound, script, keys, args)
		if err != nil {
			return res, err
		}
		if res.Error() != nil && !rueidis.IsRedisNil(res.Error()) {
			return res, nil
		}
		if acks, err = wait.AsInt64(); err != nil {
			err = fmt.Errorf("%w: WAIT: %w", core.ErrOutcomeUnknown, err) // the script has run
		}
		return res, err
	})
	if err != nil {
		err = pubsub.Crowded(s.Topo.Reach(s.Topo.Node(s.Topo.Slot(keys[0]))), err)
	}
	return answer, acks, err
}

// execAcked goes to the node's own client and follows the slot by itself: the
// client of the whole cluster would send the script on to another node and
// leave the WAIT behind, where nothing was written that a replica could miss.
func (s *Sender) execAcked(ctx context.Context, script *scripts.Script, keys, args []string) (res, wait rueidis.RedisResult, err error) {
	asked := s.Topo.Node(s.Topo.Slot(keys[0]))
	exec := func(node string) {
		var on rueidis.Client
		if on, err = s.Meet(ctx, node, keys[0]); err == nil {
			res, wait = script.ExecAcked(ctx, on, keys, args, int64(s.ReplicaAcks), core.Millis(s.AckTimeout))
		}
	}
	if exec(asked); err != nil {
		return res, wait, err
	}
	if reply, ok := rueidis.IsRedisErr(res.Error()); ok {
		if node, moved := reply.IsMoved(); moved {
			s.Topo.MarkStale()
			exec(pubsub.Absolute(node, asked))
		}
	}
	return res, wait, err
}

// errUnmet says that nothing was sent, as rueidis has no client of the node.
var errUnmet = errors.New("the client has not met the node")

// Meet returns the client of the node that serves key. If rueidis has none yet,
// it makes one when it follows a command there.
func (s *Sender) Meet(ctx context.Context, node, key string) (rueidis.Client, error) {
	if c, met := s.Topo.met(node); met {
		return c, nil
	}
	s.Redis.Do(ctx, s.Redis.B().Arbitrary("EXISTS").Keys(key).Build())
	if c, met := s.Topo.met(node); met {
		return c, nil
	}
	return nil, fmt.Errorf("%w %q", errUnmet, node)
}

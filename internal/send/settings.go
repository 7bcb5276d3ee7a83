package send

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/rueidisson/rueidisson/internal/core"
)

// CheckSettings asks the server again for what [Sender.Start] logs, and returns it as errors that wrap
// [core.ErrSettings]. What the user may not see is not said. A server that does not answer is an error, too.
func (s *Sender) CheckSettings(ctx context.Context) error {
	var q Question
	_, err, answered := Await(s, ctx, 0, func() (struct{}, error) { return struct{}{}, s.settings(s.Bounded(ctx), &q) })
	if !answered {
		err = q.Left(ctx, err)
	}
	if err != nil && !errors.Is(err, core.ErrSettings) {
		err = fmt.Errorf("check settings: %w", err)
	}
	return err
}

func (s *Sender) settings(ctx context.Context, q *Question) error {
	policies, info, alone, unwritable, err := map[string]string{}, "", "", "", error(nil)
	if s.Cluster() {
		policies, err = s.askPolicies(ctx, q)
	} else {
		asked := q.Asks(s.Topo.current())
		info, err = s.Redis.Do(ctx, s.Redis.B().Info().Build()).ToString()
		if err = unanswered(err); err == nil {
			policies[""], err = policyOf(ctx, s.Redis, info)
		}
		if err == nil && !s.RenewalAcks {
			alone, err = s.alone(ctx, info)
		}
		if err == nil {
			unwritable, err = s.unwritable(ctx, info)
		}
		if err == nil {
			asked.Answered()
		} else {
			err = asked.Ended(context.Background(), err)
		}
	}
	var all []error
	say := func(format string, args ...any) {
		all = append(all, fmt.Errorf("check settings: %w: "+format, append([]any{core.ErrSettings}, args...)...))
	}
	if found := evicting(policies); len(found) > 0 {
		say("maxmemory-policy %s evicts what is held when memory is full: use noeviction, or a server of its own", strings.Join(found, ", "))
	}
	if err != nil && len(all) > 0 {
		err = fmt.Errorf("check settings: %w", err)
	}
	if err != nil || s.Cluster() {
		return errors.Join(append(all, err)...)
	}
	if unwritable != "" {
		say("%s", unwritable)
	}
	if alone != "" {
		say("%s: a master that is cut off from its replicas goes on renewing what is held: set min-replicas-to-write to 1, and "+
			"min-replicas-max-lag below %v, or use WithReplicaAcks with Renewals", alone, s.WatchdogTimeout)
	}
	if n, known := replicasOf(info); known && n < s.ReplicaAcks {
		say("%d replicas, and WithReplicaAcks wants %d: nothing can be acquired", n, s.ReplicaAcks)
	}
	return errors.Join(all...)
}

// unwritable returns why the server of an answer to INFO refuses writes, "" if it takes them, or if it is not known. The
// error is that the server did not answer.
func (s *Sender) unwritable(ctx context.Context, info string) (string, error) {
	if field(info, "role") == "slave" {
		return fmt.Sprintf("the server is a replica of %s: use its master", net.JoinHostPort(field(info, "master_host"), field(info, "master_port"))), nil
	}
	text := field(info, "min_slaves_good_slaves") // there only if min-replicas-to-write and min-replicas-max-lag are set
	if text == "" {
		return "", nil
	}
	config, err := s.Redis.Do(ctx, s.Redis.B().ConfigGet().Parameter("min-replicas-to-write").Build()).AsStrMap()
	if err != nil {
		return "", unanswered(err)
	}
	good, _ := strconv.Atoi(text)
	if wanted, _ := strconv.Atoi(config["min-replicas-to-write"]); good < wanted {
		return fmt.Sprintf("%d replicas are in step, and min-replicas-to-write is %d: nothing can be written", good, wanted), nil
	}
	return "", nil
}

// field returns a field of an answer to INFO, "" if it is not there.
func field(info, name string) string {
	for line := range strings.Lines(info) {
		if text, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(text)
		}
	}
	return ""
}

// replicasOf returns how many replicas INFO says that the master has.
func replicasOf(info string) (n int, known bool) {
	n, err := strconv.Atoi(field(info, "connected_slaves"))
	return n, err == nil
}

// evicts reports whether a policy evicts keys with a time to live.
func evicts(policy string) bool {
	return strings.HasPrefix(policy, "volatile-") || strings.HasPrefix(policy, "allkeys-")
}

// evicting returns the policies that evict, behind the addresses of the servers where there are several.
func evicting(policies map[string]string) (found []string) {
	for node, policy := range policies {
		if evicts(policy) {
			found = append(found, strings.TrimPrefix(node+" "+policy, " "))
		}
	}
	slices.Sort(found)
	return found
}

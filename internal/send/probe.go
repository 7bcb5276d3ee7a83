package send

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/core"
)

// probe refuses servers that cannot serve: too old, or without scripting. It
// returns what INFO says, as far as the server tells.
func (s *Sender) probe(ctx context.Context) (info string, err error) {
	info, err = s.Redis.Do(ctx, s.Redis.B().Info().Build()).ToString()
	if _, replied := rueidis.IsRedisErr(err); replied {
		// An ACL that denies INFO, or an in-process server that has no such
		// section: the version stays unknown, which is no reason to refuse.
		s.Logger.Debug("server version not known", "err", err)
	} else if err != nil {
		return "", fmt.Errorf("asking the server for its version: %w", err)
	}
	product, text := Product(info)
	need := oldest[product]
	if v, ok := parseVersion(text); ok && (v.major < need.major || v.major == need.major && v.minor < need.minor) {
		return "", fmt.Errorf("the server is %s %s, and rueidisson needs Redis 7.0 or Valkey 7.2 or later", product, text)
	}
	return info, s.probeScripting(ctx)
}

// probeScript says 1, or why a script is refused the clock.
const probeScript = `local clock = redis.pcall('TIME')
return clock.err or 1`

func (s *Sender) probeScripting(ctx context.Context) error {
	reply, err := s.Redis.Do(ctx, s.Redis.B().Eval().Script(probeScript).Numkeys(0).Build()).ToAny()
	switch {
	case err != nil && classify(err) != final:
		return fmt.Errorf("asking the server to run a script: %w", err)
	case err != nil:
		return fmt.Errorf("the server does not run scripts (EVAL), which every object needs: %w", err)
	case reply == int64(1):
		return nil
	}
	return fmt.Errorf("the server refuses TIME to scripts, which every object needs: %v", reply)
}

type version struct{ major, minor int }

var oldest = map[string]version{"Redis": {7, 0}, "Valkey": {7, 2}}

// Product returns what server INFO is of, and its version, "" if it does not say.
// Valkey names a redis_version too, for clients that know no other field.
func Product(info string) (product, version string) {
	product = "Redis"
	for lines := bufio.NewScanner(strings.NewReader(info)); lines.Scan(); {
		if v, ok := strings.CutPrefix(lines.Text(), "valkey_version:"); ok {
			return "Valkey", strings.TrimSpace(v)
		}
		if v, ok := strings.CutPrefix(lines.Text(), "redis_version:"); ok {
			version = strings.TrimSpace(v)
		}
	}
	return product, version
}

func parseVersion(text string) (version, bool) {
	parts := strings.SplitN(text, ".", 3)
	if len(parts) < 2 {
		return version{}, false
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	return version{major, minor}, err1 == nil && err2 == nil
}

// sharded resolves the rule for the publish command: Redisson's, fixed at
// start-up, since the two kinds of channel are deaf to each other.
func (s *Sender) sharded(ctx context.Context) (bool, error) {
	switch {
	case !s.Cluster() || s.Sharded == core.ShardedOff:
		return false, nil
	case s.Sharded == core.ShardedOn:
		return true, nil
	}
	err := s.Redis.Do(ctx, s.Redis.B().Arbitrary("PUBSUB", "SHARDNUMSUB").Build()).Error()
	switch {
	case err == nil, err != nil && strings.HasPrefix(err.Error(), "NOPERM"): // denied, so it is there
		return true, nil
	case classify(err) == final:
		return false, nil
	}
	return false, fmt.Errorf("asking the cluster for sharded channels: %w", err)
}

// learnReplication finds out, from the answer to INFO, whether the master would go on
// renewing what is held when it is cut off from its replicas, and says so in the log. A
// client whose renewals are confirmed by replicas need not know, nor one of a cluster:
// there a master that is cut off from the others stops by itself.
func (s *Sender) learnReplication(ctx context.Context, info string) {
	if s.RenewalAcks || s.Cluster() {
		return
	}
	if found, _ := s.alone(ctx, info); found != "" {
		s.Logger.Warn("in a network partition a master that is cut off from its replicas goes on renewing what is held, beside the "+
			"one that is promoted: set min-replicas-to-write to 1, and min-replicas-max-lag below the watchdog timeout in seconds, "+
			"or use WithReplicaAcks with Renewals", "found", found, "watchdog-timeout", s.WatchdogTimeout)
	}
}

// alone returns the setting of the master, if it has replicas and goes on without them, "" if
// there is none, or if it is not known. The error is that the server did not answer.
func (s *Sender) alone(ctx context.Context, info string) (string, error) {
	replicas, _ := replicasOf(info)
	switch {
	case replicas == 0:
		return "", nil
	case field(info, "min_slaves_good_slaves") == "": // there only if it is set
		return "min-replicas-to-write=0", nil
	}
	config, err := s.Redis.Do(ctx, s.Redis.B().ConfigGet().Parameter("min-replicas-max-lag").Build()).AsStrMap()
	if err != nil {
		return "", unanswered(err)
	}
	lag, err := strconv.Atoi(config["min-replicas-max-lag"])
	if err != nil || time.Duration(lag)*time.Second < s.WatchdogTimeout {
		return "", nil
	}
	return "min-replicas-max-lag=" + config["min-replicas-max-lag"], nil
}

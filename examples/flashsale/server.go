package main

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/embedded"
)

// venue is the server of the sale.
type venue struct {
	url, name string
	redis     rueidis.Client
	stop      func()
}

// openVenue reaches the server at addr, or starts one inside of this process.
func openVenue(addr string) (*venue, error) {
	if addr == "" {
		return openEmbedded()
	}
	if !strings.Contains(addr, "://") {
		addr = "redis://" + addr
	}
	option, err := rueidis.ParseURL(addr)
	if err != nil {
		return nil, fmt.Errorf("-addr: %w", err)
	}
	v := &venue{url: addr, name: strings.Join(option.InitAddress, ","), stop: func() {}}
	return v, v.connect()
}

func openEmbedded() (*venue, error) {
	s, err := embedded.Start()
	if err != nil {
		return nil, err
	}
	v := &venue{url: s.URL(), name: "embedded", stop: s.Close}
	if err := v.connect(); err != nil {
		s.Close()
		return nil, err
	}
	return v, nil
}

func (v *venue) connect() (err error) {
	if v.redis, err = connect(v.url); err != nil {
		return fmt.Errorf("the server at %s: %w", v.name, err)
	}
	return nil
}

func (v *venue) close() {
	v.redis.Close()
	v.stop()
}

// commands returns how many commands the server has run so far, as it counts itself:
// those inside of scripts, and those of others who use it, are among them.
func (v *venue) commands(ctx context.Context) (sum int64, err error) {
	for _, node := range v.redis.Nodes() {
		info, err := node.Do(ctx, node.B().Info().Section("stats").Build()).ToString()
		if err != nil {
			return 0, err
		}
		n, err := processed(info)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

func processed(info string) (int64, error) {
	for lines := bufio.NewScanner(strings.NewReader(info)); lines.Scan(); {
		if n, found := strings.CutPrefix(lines.Text(), "total_commands_processed:"); found {
			return strconv.ParseInt(strings.TrimSpace(n), 10, 64)
		}
	}
	return 0, fmt.Errorf("INFO has no total_commands_processed: %q", info)
}

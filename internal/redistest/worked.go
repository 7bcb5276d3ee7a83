package redistest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Worked returns for how long the thread of the server that runs commands has computed: what else the machine does meanwhile does not
// count. Only Linux tells it: elsewhere, and while the server does not run, it is 0.
func (s *Server) Worked() time.Duration {
	pid := s.PID()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/schedstat", pid, pid))
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	ns, _ := strconv.ParseInt(first, 10, 64) // 0 for what is no number
	return time.Duration(ns)
}

package httplimit

import (
	"encoding/json"
	"net/http"
)

// problem is a body of RFC 9457.
type problem struct {
	Type     string   `json:"type"`
	Title    string   `json:"title"`
	Status   int      `json:"status"`
	Detail   string   `json:"detail,omitempty"`
	Violated []string `json:"violated-policies,omitempty"`
}

const quotaExceeded = "https://iana.org/assignments/http-problem-types#quota-exceeded"

var (
	noKey       = badRequest("It cannot be told whose request this is.")
	noCost      = badRequest("It cannot be told what this request costs.")
	unavailable = problem{Type: "about:blank", Title: "Service Unavailable", Status: http.StatusServiceUnavailable}
)

func badRequest(detail string) problem {
	return problem{Type: "about:blank", Title: "Bad Request", Status: http.StatusBadRequest, Detail: detail}
}

// exceeded returns the problem document of a refused request.
func exceeded(refused Report) problem {
	p := problem{
		Type: quotaExceeded, Title: "Request cannot be satisfied as assigned quota has been exceeded",
		Status: http.StatusTooManyRequests, Violated: refused.Violated(),
	}
	if refused.Never {
		p.Detail = "The request needs more than the quota ever holds."
	}
	return p
}

func (p problem) write(w http.ResponseWriter) {
	body, _ := json.Marshal(p) // strings and a number always can be
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Content-Length", decimal(int64(len(body))))
	if p.Status == http.StatusServiceUnavailable {
		h.Set("Retry-After", "1")
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // a client that is gone needs none
}

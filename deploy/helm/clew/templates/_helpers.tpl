{{- define "clew.name" -}}
{{- if contains "clew" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-clew" (.Release.Name | trunc 45 | trimSuffix "-") }}{{ end }}
{{- end }}

{{- define "clew.selector" -}}
app.kubernetes.io/name: clew
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "clew.labels" -}}
{{ include "clew.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "clew.image" -}}
{{- if .Values.image.digest }}{{ .Values.image.repository }}@{{ .Values.image.digest }}{{ else }}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "clew.secret" -}}
{{- .Values.existingSecret | default (include "clew.name" .) }}
{{- end }}

{{- define "clew.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "clew.hosts" -}}
{{- $name := include "clew.name" . -}}
{{- $own := list $name (printf "%s.%s" $name .Release.Namespace) (printf "%s.%s.svc" $name .Release.Namespace) (printf "%s.%s.svc.cluster.local" $name .Release.Namespace) -}}
{{- concat $own .Values.hosts | uniq | toJson -}}
{{- end }}

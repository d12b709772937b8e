@echo off
rem Runs the C test programs and a walk through the commands on Windows, with what the build gives and
rem nothing else. The result is in tether-windows.txt; please paste it whole into an issue.
rem
rem     tests\windows\run.cmd [FOLDER]
rem
rem FOLDER holds tether.exe and tests, as build\windows.x86_64 does after
rem `./dev build platform=windows`. Ports 8123 and 9623 are used, unless PORTS
rem says otherwise, and no state of yours is touched.
setlocal
set "BUILD=%~1"
if "%BUILD%"=="" set "BUILD=%~dp0..\..\build\windows.x86_64"
set "TETHER=%BUILD%\tether.exe"
set "HOST=%BUILD%\tests\programs\windows\host.exe"
set "SERVER=%BUILD%\tests\programs\windows\server.exe"
set "RESULT=%CD%\tether-windows.txt"
set "WORK=%TEMP%\tether-run-%RANDOM%"
set "TETHER_STATE_DIR=%WORK%\state"
if not defined PORTS set "PORTS=--http-port 8123 --ws-port 9623"
set PASSED=0
set FAILED=0
if not exist "%TETHER%" (
    echo There is no "%TETHER%": build it on Debian with ./dev build platform=windows, and copy it here.
    exit /b 2
)
mkdir "%WORK%"
ver >"%RESULT%"
"%TETHER%" version >>"%RESULT%" 2>&1

for %%p in (os_calls os_console os_control os_files os_library os_peer os_place os_port os_process os_start os_tree) do call :program "%BUILD%\tests\wine\%%p.exe"

call :expect 0 "the version" version
call :expect 2 "a command that is none" frobnicate
call :expect 5 "nothing runs yet" status %PORTS%
call :expect 0 "a server is launched" launch %PORTS% -- "%SERVER%"
call :expect 0 "a second launch adopts it" launch %PORTS% -- "%SERVER%"
call :expect 0 "its status" status %PORTS%
call :expect 0 "its status for programs" status --json %PORTS%
call :expect 0 "its log" logs %PORTS% -n 20
call :expect 0 "a restart" restart %PORTS%
call :expect 0 "what doctor finds" doctor %PORTS%
call :expect 0 "a sweep" sweep %PORTS%
call :expect 0 "a stop" stop %PORTS%
call :nobody "nobody is left after the stop"
call :expect 5 "nothing runs any more" status %PORTS%
call :expect 0 "the built-in server is launched" launch %PORTS%
call :expect 0 "and restarted" restart %PORTS%
call :expect 0 "and stopped" stop %PORTS%
call :nobody "nobody is left of the built-in server"

"%HOST%" owner >"%WORK%\owner"
set OWNER=
for /f "usebackq tokens=1,2" %%a in ("%WORK%\owner") do (
    set OWNER=--owner-pid %%a --owner-start %%b
    set PID=%%a
)
call :expect 0 "a server with an owner" launch %PORTS% %OWNER% -- "%SERVER%" --ignore-term --kinds "%WORK%\kinds"
"%HOST%" kill %PID%
call :nobody "nobody is left after the owner"
call :expect 0 "what doctor finds afterwards" doctor %PORTS%

echo.>>"%RESULT%"
echo %PASSED% passed, %FAILED% failed>>"%RESULT%"
rmdir /s /q "%WORK%"
echo %PASSED% passed, %FAILED% failed; the whole of it is in %RESULT%
if not %FAILED%==0 exit /b 1
exit /b 0

rem ---- one of the programs that print TAP
:program
%1 >"%WORK%\output" 2>&1 <NUL
set CODE=%ERRORLEVEL%
echo.>>"%RESULT%"
echo %~nx1 ended with %CODE%>>"%RESULT%"
type "%WORK%\output" >>"%RESULT%"
call :count %CODE% 0 "%~nx1"
exit /b 0

rem ---- :expect CODE "what" WORDS of tether.exe
:expect
set WANTED=%~1
set "WHAT=%~2"
set WORDS=
:words
if [%3]==[] goto run
set WORDS=%WORDS% %3
shift /3
goto words
:run
echo.>>"%RESULT%"
echo tether %WORDS%>>"%RESULT%"
"%TETHER%" %WORDS% >"%WORK%\output" 2>&1 <NUL
set CODE=%ERRORLEVEL%
type "%WORK%\output" >>"%RESULT%"
call :count %CODE% %WANTED% "%WHAT%"
exit /b 0

rem ---- waits until no program of ours is left, 20 seconds at most; what is left is told by its pid
:nobody
"%HOST%" left 20000 tether.exe server.exe >>"%RESULT%"
call :count %ERRORLEVEL% 0 %1
exit /b 0

:count
if %1==%2 (
    set /a PASSED=PASSED+1
    echo ok - %~3
    echo ok - %~3 >>"%RESULT%"
) else (
    set /a FAILED=FAILED+1
    echo not ok - %~3: ended with %1, not %2
    echo not ok - %~3: ended with %1, not %2 >>"%RESULT%"
)
exit /b 0
